"""Induce actions of the knowledge base from labelled pages (wrapper induction).

The input are pages whose objects are known, the output is an action that finds the objects of all pages of the
template. Adaptation learns replacements of failing actions with it, the editor drafts new files. Objects of pages of
unknown software are found, without expressions, by `aahcrawler.induction`.
"""
