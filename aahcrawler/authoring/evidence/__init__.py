"""Judge the files of a knowledge base by pages: what they find there, miss, share with others or cut off."""
