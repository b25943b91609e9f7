"""Which web applications there are, how to recognise them and their page levels, and what to do on each."""
