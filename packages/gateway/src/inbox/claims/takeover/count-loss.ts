import type { Document } from 'mongodb'
import { counterOf, listOf, raised } from '../../record-expressions.ts'

const MOST_LOSSES = 1_000

/**
 * The fields of a record that `owner` takes from its holder: if another process held it, that loss may count towards
 * marking the record as dead. Belongs to the update that takes the record, and needs `begun` as the holder left it.
 */
export function countLoss(owner: string): Document {
  const counts = countsAsLost(owner)
  const loss = { owner: '$leaseOwner', at: '$$NOW' }
  const losses = { $slice: [{ $concatArrays: [listOf('losses'), [loss]] }, -MOST_LOSSES] }
  return {
    lost: { $cond: [counts, raised('lost'), counterOf('lost')] },
    losses: { $cond: [counts, losses, '$losses'] },
  }
}

// The first loss puts a record under suspicion, even if the record only waited in its holder's memory, because sending
// a large batch writes nothing. After that, a loss counts only if it came after `begin`. Otherwise a series of deaths
// would mark whole backlogs as dead.
function countsAsLost(owner: string): Document {
  return {
    $and: [
      { $eq: ['$state', 'processing'] },
      { $ne: ['$leaseOwner', { $literal: owner }] },
      { $or: [{ $eq: [counterOf('lost'), 0] }, { $in: ['$begun', [true, 'together']] }] },
    ],
  }
}
