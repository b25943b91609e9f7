"""Has a second process annotate the objects of a collection while this one does the steps before it.

Steps that go by the objects alone need not wait for what former steps say. They are done in their order by one process
beside this one, which keeps what they say until its turn to be written has come. So what is written, and in which
order, is the same as without it; whatever ends this process ends the other one as well.
"""
