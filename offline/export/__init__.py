"""Write the content of crawls as packages that other programs can show."""
