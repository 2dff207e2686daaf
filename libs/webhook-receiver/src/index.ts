export { type BoundedStore, boundedStore, type Outcome } from './bounded-store'
export type {
  AppointmentScheduled,
  AttachmentAdded,
  CallbackScheduled,
  FieldChange,
  LeadUpdated,
  Scheduled,
  WebhookEvent,
} from './events'
export type { HeadersLike } from './headers'
export type { Customer, Image, Lead, LeadCreated, Quote, QuoteItem } from './lead-created'
export type { RefusalCode, Refused, Verified, VerifiedStandard } from './results'
export { hasServiceSignature, hasStandardSignature } from './signatures'
export { verify } from './verify'
export { type StandardOptions, verifyStandard } from './verify-standard'
