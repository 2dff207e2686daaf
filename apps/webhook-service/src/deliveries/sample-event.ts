import type { EventType } from '@leadwire/contracts'
import samples from './samples.json'

/** No lead of anybody's: ids begin at 1, and no reference is ever made like this. */
const REFERENCE = '00000000-0000-4000-8000-000000000000'

const SAMPLES: Record<EventType, object> = samples

/** An event of each type to try an endpoint with. `now` is an ISO timestamp with six digits. */
export const sampleEvent = (type: EventType, now: string): { leadReference: string; body: Buffer } => ({
  leadReference: REFERENCE,
  body: Buffer.from(JSON.stringify(SAMPLES[type]).replaceAll('{now}', now)),
})
