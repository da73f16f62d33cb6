"""The papers' figures, reproduced: what to run, the papers' numbers and what counts as reproduced.

A paper is a folder in `papers`, of data and of the small functions that turn runs into its numbers:

- `paper.toml`: title, prefix of its rows' names, its tables, the counters that its rows look at;
- `rows.toml`: one table for each number of the paper, with what is measured and accepted;
- `experiments.toml`: the runs and certifications that the rows share;
- `figures.toml`: what is drawn of them;
- `deviations.toml`: the cause of each row that is not reproduced;
- `measures.py`: the functions that rows name beyond those of all papers, and beside it whatever
  they are made of.

Their recorded workloads stand in `papers/traces.toml`, and in `papers/evidence.toml` stands what a
match of each row is evidence of.
"""
