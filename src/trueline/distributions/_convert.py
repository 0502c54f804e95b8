"""placeholder until the converter lands"""


def as_distribution(obj):
    return obj
