"""The abstraction lab: which card abstraction is better?"""
