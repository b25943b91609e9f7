"""Wrapper induction: makes actions of the knowledge base from labelled pages, by expressions that find the labels.

Its input are pages whose objects are known already, its output is an action that finds them on all
pages of the template. Adaptation learns actions with it in place of those that fail, authoring drafts new files. Who
finds the objects of a page that nobody has described, without any expression, is `aahcrawler.induction`.
"""
