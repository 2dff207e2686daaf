export { type BoundedStore, boundedStore, type Outcome } from './bounded-store'
export type * from './events'
export type { HeadersLike } from './headers'
export {
  createInbox,
  type Feed,
  type Inbox,
  type InboxEvent,
  type InboxOptions,
  type InboxStore,
  memoryInboxStore,
  type Received,
} from './inbox'
export type { Customer, Image, Lead, LeadCreated, Quote, QuoteItem } from './lead-created'
export { hasServiceSignature, hasStandardSignature, serviceSignature, standardSignature } from './signatures'
export {
  type RefusalCode,
  type Refused,
  type StandardOptions,
  type Verified,
  type VerifiedStandard,
  verify,
  verifyStandard,
} from './verify'
