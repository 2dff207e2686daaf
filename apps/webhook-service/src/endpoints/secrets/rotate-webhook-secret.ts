import { differences, recordAudit, ServiceError, statement } from '@leadwire/service-kit'
import { microseconds } from '../../clock'
import type { Operation } from '../../operation'
import { ENDPOINT_COLUMNS, requireEndpoint } from '../endpoint-row'
import { newSecret, type SealedSecrets } from './sealed-secrets'
import { lockSecrets, saveSecrets } from './store-secrets'

/**
 * The maximum number of old secrets that still sign. Each old secret adds a signature to the headers of every
 * attempt.
 */
const MAX_OLD_SECRETS = 8

const touch = statement<SealedSecrets>('touch-endpoint')`
  UPDATE endpoints SET updated_at = clock_timestamp() WHERE id = $1 RETURNING ${ENDPOINT_COLUMNS}`

/**
 * Replaces the secret of an endpoint. The old secret also signs until `old_secret_until` (see
 * `selectSecrets`). After a further rotation, all old secrets continue to sign, but at the latest until the
 * new overlap ends. An overlap of 0 therefore ends all old secrets at once, which is needed after a leak.
 * Throws `not_found`. Throws `conflict` if too many old secrets still sign.
 */
export const rotateWebhookSecret: Operation<'rotateWebhookSecret'> = async (dependencies, request) => {
  const { database, actor, sealer, clock } = dependencies
  const { accountId, endpointId, overlapMs, secret = newSecret() } = request
  return database.transaction(async (tx) => {
    const current = await lockSecrets(tx, sealer, request)
    const now = clock.now()
    const end = new Date(now.getTime() + overlapMs)
    const until = end.toISOString()
    // An old secret that becomes the new secret keeps its position, because X-SERVICE-Signature uses the
    // first secret.
    const ends = new Map(current.oldSecrets.map((old) => [old.secret, old.until < until ? old.until : until]))
    if (current.secret !== secret) ends.set(current.secret, until)
    if (ends.has(secret)) ends.set(secret, until)
    const oldSecrets = [...ends]
      .map(([replaced, endsAt]) => ({ secret: replaced, until: endsAt }))
      .filter((old) => old.until > now.toISOString())
    if (oldSecrets.length > MAX_OLD_SECRETS)
      throw new ServiceError(
        'conflict',
        'Too many old secrets still sign. Wait until one of them ends, or end all of them with an overlap of 0s.',
      )
    await saveSecrets(tx, sealer, [{ accountId, endpointId, secrets: { ...current, secret, oldSecrets } }])
    const endpoint = requireEndpoint(dependencies, await touch(tx, endpointId))
    const oldSecretUntil = microseconds(end)
    const changes = differences({}, { old_secret_until: oldSecretUntil })
    const action = 'webhook_endpoint.secret_rotated'
    recordAudit(tx, actor, { accountId, action, targetId: endpointId, changes })
    return { endpoint, secret, oldSecretUntil }
  })
}
