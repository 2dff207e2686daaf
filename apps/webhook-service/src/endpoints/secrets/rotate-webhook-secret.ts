import { differences, recordAudit, ServiceError, statement } from '@leadwire/service-kit'
import { validate } from '../../arguments'
import { microseconds } from '../../clock'
import type { Operation } from '../../operation'
import { ENDPOINT_COLUMNS, theEndpoint } from '../endpoint-row'
import { newSecret, type SealedSecrets, secretViolation } from './sealed-secrets'
import { lockSecrets, saveSecrets } from './store-secrets'

const MAX_OVERLAP_MS = 30 * 24 * 3_600_000
// Each adds a signature to the header of every attempt.
const MAX_OLD_SECRETS = 8

const touch = statement<SealedSecrets>('touch-endpoint')`
  UPDATE endpoints SET updated_at = clock_timestamp() WHERE id = $1 RETURNING ${ENDPOINT_COLUMNS}`

/**
 * Gives an endpoint a new secret. Until `old_secret_until` the replaced one signs too (see `signingSecrets`). A second rotation keeps
 * every secret that still signs, but none longer than the newest overlap: an overlap of 0 ends all at once, as a leak requires.
 * Throws invalid, not_found, and conflict when too many secrets still sign.
 */
export const rotateWebhookSecret: Operation<'rotateWebhookSecret'> = async (dependencies, request) => {
  const { database, actor, sealer, clock } = dependencies
  const { accountId, endpointId, overlapMs, secret = newSecret() } = request
  const overlapFits = Number.isInteger(overlapMs) && overlapMs >= 0 && overlapMs <= MAX_OVERLAP_MS
  return database.transaction(async (tx) => {
    const current = await lockSecrets(tx, sealer, request)
    validate({ secret: secretViolation(secret), overlap: overlapFits || 'must be from 0s to 30d' })
    const now = clock.now()
    const end = new Date(now.getTime() + overlapMs)
    const until = end.toISOString()
    // One that comes back keeps its place, so that the header stays with it.
    const ends = new Map(current.oldSecrets.map((old) => [old.secret, old.until < until ? old.until : until]))
    if (current.secret !== secret) ends.set(current.secret, until)
    if (ends.has(secret)) ends.set(secret, until)
    const oldSecrets = [...ends]
      .map(([replaced, endsAt]) => ({ secret: replaced, until: endsAt }))
      .filter((old) => old.until > now.toISOString())
    if (oldSecrets.length > MAX_OLD_SECRETS)
      throw new ServiceError(
        'conflict',
        'Too many earlier secrets still sign. Wait for one to end, or end all with 0s.',
      )
    await saveSecrets(tx, sealer, [{ accountId, endpointId, secrets: { ...current, secret, oldSecrets } }])
    const endpoint = theEndpoint(dependencies, await touch(tx, endpointId))
    const oldSecretUntil = microseconds(end)
    const changes = differences({}, { old_secret_until: oldSecretUntil })
    const action = 'webhook_endpoint.secret_rotated'
    recordAudit(tx, actor, { accountId, action, targetId: endpointId, changes })
    return { endpoint, secret, oldSecretUntil }
  })
}
