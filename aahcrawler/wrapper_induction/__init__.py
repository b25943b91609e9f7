"""Induces actions of the knowledge base from labelled pages (wrapper induction).

The input is pages whose objects are known, the output an action that finds the objects on all pages of the template.
Adaptation learns replacements of failing actions with it, the editor drafts new files. Objects on pages of unknown
software are found, without expressions, by `aahcrawler.induction`.
"""
