import type { LeadResult } from '@leadwire/contracts'
import { ServiceError, statusOf } from '@leadwire/service-kit'

export const leadNotFound = () => new ServiceError('not_found', 'There is no lead with this reference.')

/** How a batch tells what became of one of its items. */
export const leadResultOf = (outcome: Buffer | ServiceError): LeadResult => ({
  result:
    outcome instanceof ServiceError
      ? { $case: 'failure', value: statusOf(outcome) }
      : { $case: 'body', value: outcome },
})
