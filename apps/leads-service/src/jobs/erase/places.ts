import { eraseEvents } from './erase-events'
import { eraseFiles } from './erase-files'
import { eraseMessages } from './erase-messages'
import type { ErasedPlace } from './erasure'
import type { ErasureJob, PlaceDeps } from './erasure-job'

interface Place {
  erases: Pick<ErasedPlace, 'store' | 'what'>[]
  /** The counts of what it erases, all that was erased before included; undefined while there is more to do. May be repeated. */
  erase: (job: ErasureJob, deps: PlaceDeps) => Promise<number[] | undefined>
}

/** Every place beyond this service's database, in the order in which they are erased: a further one is a further entry. */
export const PLACES: Place[] = [
  { erases: [{ store: 'object_store', what: 'attached_files' }], erase: eraseFiles },
  {
    erases: [
      { store: 'postgresql', what: 'webhook_events' },
      { store: 'postgresql', what: 'notification_events' },
      { store: 'postgresql', what: 'cancelled_deliveries' },
      { store: 'postgresql', what: 'attempt_responses' },
    ],
    erase: eraseEvents,
  },
  // Behind the events, which know where their messages are.
  { erases: [{ store: 'jetstream', what: 'messages' }], erase: eraseMessages },
]
