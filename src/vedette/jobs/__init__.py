"""Job engines beside the store.  BullMQ carries jobs whose rows are in the store."""
