import type { Operation } from '../operation'
import { findEndpoint } from './endpoint-row'
import { recoveryOf } from './replay/replays'

/** An endpoint, and what remains to be recovered there. Throws not_found. */
export const retrieveWebhookEndpoint: Operation<'retrieveWebhookEndpoint'> = async (
  dependencies,
  request,
) => {
  const endpoint = await findEndpoint(dependencies, request)
  return { endpoint, recovery: await recoveryOf(dependencies.database, endpoint.id) }
}
