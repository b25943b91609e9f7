"""Induce actions of the knowledge base from labelled pages (wrapper induction).

The input is pages whose objects are known, the output an action that finds the objects on all pages of the template.
Adaptation uses it to replace failing actions, the editor to draft new files. `aahcrawler.induction` finds objects on
pages of unknown software, without expressions.
"""
