import type { AuditEntry } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { named, nullableOf, orNull, timestamp } from '../api/schemas'
import { TokenName } from '../tokens/token-schema'
import { describe } from '../validation/fields'

const Change = named('AuditChange')({
  from: Type.Unknown({ description: 'What it was; null where it was not.', examples: [true] }),
  to: Type.Unknown({ description: 'What it became; null where it is no more.', examples: [false] }),
})

const Target = named('AuditTarget')({
  type: Type.String({ examples: ['webhook_endpoint'] }),
  id: Type.Integer({ examples: [1] }),
})

export const AuditRecord = named(
  'AuditEntry',
  'One change of an account, and who made it.',
)({
  id: Type.String({ format: 'uuid', examples: ['9a3c6d1e-5b7f-4c02-8d49-2e6f0a1b3c5d'] }),
  at: timestamp('When it was done.'),
  action: Type.String(describe('The kind of record, and what was done to it.', 'webhook_endpoint.updated')),
  target: Target,
  token: orNull(TokenName, 'Whose token did it. Null: an operator.'),
  request_id: nullableOf(
    'string',
    'The X-Request-Id of the request that did it.',
    '5d2f0c1e-6c1c-4e55-a1b1-6d9fb3f1c1a7',
  ),
  changes: Type.Record(Type.String(), Change, {
    description: 'What became another one, by field. Secrets are never among it.',
    examples: [{ enabled: { from: true, to: false } }],
  }),
})

export const auditJson = (entry: AuditEntry): string => {
  const { id, at, action, tokenId, tokenName } = entry
  const target = { type: entry.targetType, id: entry.targetId }
  const token = tokenId === undefined ? null : { id: tokenId, name: tokenName }
  const json = JSON.stringify({ id, at, action, target, token, request_id: entry.requestId ?? null })
  return `${json.slice(0, -1)},"changes":${entry.changes}}`
}
