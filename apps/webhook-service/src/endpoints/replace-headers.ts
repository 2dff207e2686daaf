import type { EndpointHeader } from '@leadwire/contracts'
import { ServiceError, type Transaction } from '@leadwire/service-kit'
import { valuesOf } from './endpoint-headers'
import { openSecrets, type SecretSealer, sealSecrets } from './sealed-secrets'
import { lockSecrets } from './store-secrets'

/** Gives an endpoint these headers in place of those it has. Throws not_found, and invalid for a header that gets no value. */
export const replaceHeaders = async (
  tx: Transaction,
  options: { sealer: SecretSealer; accountId: number; endpointId: number; headers: EndpointHeader[] },
): Promise<void> => {
  const { sealer, accountId, endpointId } = options
  const current = openSecrets(sealer, await lockSecrets(tx, options))
  const { values: headers, faults } = valuesOf(options.headers, current.headers)
  if (Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
  await tx.query({
    name: 'replace-headers',
    text: `UPDATE endpoints SET sealed_secrets = $2, secrets_end_at = $3, secret = $4, old_secrets = $5, header_names = $6
           WHERE id = $1`,
    values: [endpointId, ...sealSecrets(sealer, accountId, { ...current, headers }), Object.keys(headers)],
  })
}
