import type { Actor } from '@leadwire/contracts'
import type { OpenTransaction, Transaction } from '@leadwire/service-kit'

/** What a change did to a field of a lead, or to what belongs to it. Of a user it says id and e-mail. */
type FieldChange = {
  field: 'status' | 'value' | 'user' | 'appointment' | 'callback'
  from: unknown
  to: unknown
}

type Changeable = { status: string; value: number; userId: number | null }

const SELECT_USERS = 'SELECT id, email FROM users WHERE account_id = $1 AND id = ANY ($2)'

/** The fields that a change of a locked lead changes: what is set to what it was is no change. */
export const fieldChanges = async (
  tx: Transaction,
  accountId: number,
  before: Changeable,
  after: Changeable,
): Promise<FieldChange[]> => {
  const changes: FieldChange[] = (['status', 'value'] as const)
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ field, from: before[field], to: after[field] }))
  if (before.userId === after.userId) return changes
  const values = [accountId, [before.userId, after.userId]]
  const users = await tx.query<{ id: number }>({ name: 'changed-users', text: SELECT_USERS, values })
  const userOf = ({ userId }: Changeable) => users.find(({ id }) => id === userId) ?? null
  return [...changes, { field: 'user', from: userOf(before), to: userOf(after) }]
}

const INSERT = `
  INSERT INTO lead_changes (account_id, lead_id, version, token_id, request_id, changes, created_at, action)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

/** Records, in the transaction of a change, who made which `version` of a lead. */
export const recordLeadChange = (
  tx: OpenTransaction,
  change: {
    accountId: number
    leadId: number
    version: number
    actor: Actor | undefined
    changes: FieldChange[]
    at: string
    /** `updated` unless it says so. */
    action?: 'erased'
  },
): void => {
  const { accountId, leadId, version, actor, changes, at, action = null } = change
  const by = [actor?.tokenId ?? null, actor?.requestId ?? null]
  const values = [accountId, leadId, version, ...by, JSON.stringify(changes), at, action]
  tx.send({ name: 'record-lead-change', text: INSERT, values })
}
