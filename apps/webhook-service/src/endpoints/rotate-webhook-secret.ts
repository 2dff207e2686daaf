import type { Actor, RotateWebhookSecretRequest, RotateWebhookSecretResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit, ServiceError } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { ENDPOINT_COLUMNS, theEndpoint } from './endpoint-row'
import { endpointSecretFaults, newEndpointSecret } from './endpoint-secret'
import { retrieveWebhookEndpoint } from './retrieve-webhook-endpoint'
import { type OldSecret, openSecrets, type SecretSealer, sealSecrets } from './sealed-secrets'
import { lockSecrets } from './store-secrets'

const DAY_MS = 24 * 3_600_000
const MAX_OVERLAP_MS = 30 * DAY_MS
// Each is one more signature in the header of every attempt.
const MAX_OLD_SECRETS = 8

/**
 * Gives an endpoint a new secret. Until the overlap ends the one it replaces signs too (see `signingSecrets`), and
 * from `old_secret_until` on the new one signs alone.
 *
 * Rotated again during an overlap, every secret that still signs goes on doing so, but none longer than the newest
 * overlap: a receiver that knows all of them until the last answer's `old_secret_until` fails at no moment, and `0s`
 * ends them all at once, as a leak asks for. Throws invalid, not_found, and conflict when too many still sign.
 */
export const rotateWebhookSecret = async (
  {
    database,
    actor,
    sealer,
    clock,
  }: { database: Database; actor?: Actor | undefined; sealer: SecretSealer; clock: Clock },
  request: RotateWebhookSecretRequest,
): Promise<RotateWebhookSecretResponse> => {
  const secret = request.secret ?? newEndpointSecret()
  const { accountId, endpointId, overlapMs } = request
  const overlapFits = Number.isInteger(overlapMs) && overlapMs >= 0 && overlapMs <= MAX_OVERLAP_MS
  const faults = {
    ...endpointSecretFaults(secret),
    ...(!overlapFits && { overlap: ['must be from 0s to 30d'] }),
  }
  if (Object.keys(faults).length > 0) {
    await retrieveWebhookEndpoint({ database }, request)
    throw ServiceError.invalid(faults)
  }
  return database.transaction(async (tx) => {
    const current = openSecrets(sealer, await lockSecrets(tx, request))
    const now = clock.now()
    const until = new Date(now.getTime() + overlapMs).toISOString()
    const earlier: OldSecret[] = [...current.oldSecrets, { secret: current.secret, until }].map((each) => ({
      secret: each.secret,
      until: each.until < until ? each.until : until,
    }))
    const signing = earlier.filter((each) => each.secret !== secret && each.until > now.toISOString())
    if (signing.length > MAX_OLD_SECRETS)
      throw new ServiceError(
        'conflict',
        'Too many earlier secrets still sign. Wait for one to end, or end all with 0s.',
      )
    const rows = await tx.query<object>({
      name: 'replace-endpoint-secret',
      text: `UPDATE endpoints SET
               sealed_secrets = $2, secrets_end_at = $3, secret = $4, old_secrets = $5, updated_at = clock_timestamp()
             WHERE id = $1 RETURNING ${ENDPOINT_COLUMNS}`,
      values: [endpointId, ...sealSecrets(sealer, accountId, { ...current, secret, oldSecrets: signing })],
    })
    const oldSecretUntil = until.replace('Z', '000Z')
    const changes = differences({}, { old_secret_until: oldSecretUntil })
    const action = 'webhook_endpoint.secret_rotated'
    recordAudit(tx, actor, { accountId, action, targetId: endpointId, changes })
    return { endpoint: theEndpoint(rows), secret, oldSecretUntil }
  })
}
