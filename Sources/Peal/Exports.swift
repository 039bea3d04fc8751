// An app imports `Peal` alone: what its API shows of the model and the replica (ids, JSON, queries, counts) comes with it. There is no other
// spelling for that (swift-evolution has none yet), and a copy of each type would be one more to keep in step.
@_exported public import PealModel
@_exported public import PealReplica
