import type { LeadResult } from '@leadwire/contracts'
import { ServiceError, statusOf } from '@leadwire/service-kit'
import type { Answer } from '../idempotency/idempotency-keys'

export const leadNotFound = () => new ServiceError('not_found', 'There is no lead with this reference.')

/** How a batch tells what became of one of its items. */
export const leadResultOf = (outcome: Buffer | Answer | ServiceError): LeadResult => {
  if (outcome instanceof ServiceError) return { result: { $case: 'failure', value: statusOf(outcome) } }
  const { body, replayed } = Buffer.isBuffer(outcome) ? { body: outcome, replayed: undefined } : outcome
  return { result: { $case: 'body', value: body }, replayed }
}
