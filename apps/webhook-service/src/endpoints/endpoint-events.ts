import { ENDPOINT_LEADS, EVENT_TYPES } from '@leadwire/contracts'
import type { Faults } from '@leadwire/service-kit'

/** What is wrong with the types of event that an endpoint is to subscribe to; empty when they will do. */
export const endpointEventsFaults = (types: string[]): Faults => {
  const known = EVENT_TYPES.filter((type) => types.includes(type))
  return types.length > 0 && known.length === types.length
    ? {}
    : { events: [`must be one or more of ${EVENT_TYPES.join(', ')}, each once`] }
}

/** What is wrong with the leads of which an endpoint is to be told; empty when they will do. */
export const endpointLeadsFaults = (leads: string): Faults =>
  ENDPOINT_LEADS.some((each) => each === leads)
    ? {}
    : { leads: [`must be one of ${ENDPOINT_LEADS.join(', ')}`] }
