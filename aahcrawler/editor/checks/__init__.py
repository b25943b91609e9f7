"""Judge the files of a knowledge base by themselves and by pages: what they find, miss, share or cut off."""
