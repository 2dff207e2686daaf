import { type Lead, leadJson } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'

/** The finished response of every operation that answers with a lead (interface: Retrieve Lead). */
export const leadBody = (lead: Lead): Buffer =>
  Buffer.from(`{"data":${leadJson(lead, { productStyle: true })}}`)

export const leadNotFound = () => new ServiceError('not_found', 'There is no lead with this reference.')
