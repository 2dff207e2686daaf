import type { LeadResult } from '@leadwire/contracts'
import { ServiceError, statusOf } from '@leadwire/service-kit'

/** The public JSON of a lead, and its entity tag. */
export interface TaggedLead {
  body: Buffer
  etag: string
}

export const leadNotFound = () => new ServiceError('not_found', 'There is no lead with this reference.')

/** The result of one item of a batch. */
export const leadResultOf = (outcome: (TaggedLead & { replayed?: boolean }) | ServiceError): LeadResult => {
  if (outcome instanceof ServiceError) return { result: { $case: 'failure', value: statusOf(outcome) } }
  const { body, etag, replayed } = outcome
  return { result: { $case: 'body', value: body }, etag, replayed }
}
