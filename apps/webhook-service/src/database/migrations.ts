import type { Migration } from '@leadwire/service-kit'
import { claimInPlace } from './claim-in-place'
import { createSchema } from './create-schema'
import { findWhatIsSoon } from './find-what-is-soon'
import { markWhatIsDone } from './mark-what-is-done'
import { rotateAndRetry } from './rotate-and-retry'
import { trustTheFanOut } from './trust-the-fan-out'

/** Every step of the schema, oldest first. */
export const MIGRATIONS: Migration[] = [
  createSchema,
  rotateAndRetry,
  claimInPlace,
  findWhatIsSoon,
  trustTheFanOut,
  markWhatIsDone,
]
