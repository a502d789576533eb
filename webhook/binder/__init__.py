"""The running scheduler: queue, loop, binding, conditions, and the election that decides who schedules."""
