import type { Actor } from '@leadwire/contracts'
import type { OpenTransaction } from '../database/database'

/** Changed fields. */
export type Changes = Record<string, { from: unknown; to: unknown }>

/** The fields in which two states of a record differ. */
export const differences = (before: Record<string, unknown>, after: Record<string, unknown>): Changes => {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const pairs = fields.map((field) => ({ field, from: before[field] ?? null, to: after[field] ?? null }))
  const different = pairs.filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to))
  return Object.fromEntries(different.map(({ field, from, to }) => [field, { from, to }]))
}

// With its schema: connections to other schemas write to the same log.
const INSERT = `
  INSERT INTO public.audit (account_id, action, target_type, target_id, token_id, token_name, request_id, changes)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

/** Records a change in its own transaction. `changes` never holds a secret, nor the text of a token. */
export const recordAudit = (
  tx: OpenTransaction,
  actor: Actor | undefined,
  entry: {
    accountId: number
    /** The kind of record, and what was done to it: `webhook_endpoint.updated`. */
    action: `${string}.${string}`
    targetId: number
    changes?: Changes
  },
): void => {
  const { accountId, action, targetId, changes = {} } = entry
  const [targetType] = action.split('.')
  const by = [actor?.tokenId ?? null, actor?.tokenName ?? null, actor?.requestId ?? null]
  tx.send({
    name: 'record-audit',
    text: INSERT,
    values: [accountId, action, targetType, targetId, ...by, JSON.stringify(changes)],
  })
}
