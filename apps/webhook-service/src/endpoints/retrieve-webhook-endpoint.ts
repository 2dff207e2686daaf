import type { Operation } from '../operation'
import { findEndpoint } from './endpoint-row'
import { recoveryOf } from './recovery/recovery'

/** An endpoint, and what remains to be recovered there. Throws not_found. */
export const retrieveWebhookEndpoint: Operation<'retrieveWebhookEndpoint'> = async (
  { database },
  request,
) => {
  const endpoint = await findEndpoint(database, request)
  return { endpoint, recovery: await recoveryOf(database, endpoint.id) }
}
