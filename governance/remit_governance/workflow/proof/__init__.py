"""What runs of tests prove, judged from what they told and from the texts of the tests, without a look at the disk."""
