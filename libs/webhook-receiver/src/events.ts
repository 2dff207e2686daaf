import type { Customer, Image, Lead, LeadCreated, Timestamp } from './lead-created'

export interface LeadUpdated {
  type: 'lead.updated'
  /** The lead after the change, without its quotes. Has `customer` only if the customer was changed. */
  data: Omit<Lead, 'customer' | 'quotes'> & { customer?: Customer; changes: FieldChange[] }
}

/** The old and the new value of a field. The values of `user` are null or have `id` and `email`. */
export interface FieldChange {
  field: string
  from: unknown
  to: unknown
}

export interface AppointmentScheduled {
  type: 'appointment.scheduled'
  data: Scheduled
}

export interface CallbackScheduled {
  type: 'callback.scheduled'
  data: Scheduled
}

export interface Scheduled {
  id: number
  lead_reference: string
  user_id: number
  /** The time of the appointment or callback. */
  date: Timestamp
  notify: boolean
  created_at: Timestamp
}

/** The date or the user of an appointment or a callback was changed. */
export interface EntryRescheduled {
  type: 'appointment.rescheduled' | 'callback.rescheduled'
  data: Scheduled & { cancelled_at: null; done_at: null; remind: boolean }
}

export interface EntryCancelled {
  type: 'appointment.cancelled' | 'callback.cancelled'
  data: Scheduled & { cancelled_at: Timestamp; done_at: null; remind: boolean }
}

/** An open appointment or callback is due: its date minus the lead time of the account has come. */
export interface EntryDue {
  type: 'appointment.due' | 'callback.due'
  data: Scheduled & { cancelled_at: null; done_at: null; remind: boolean }
}

/** A file was attached to a lead. Its `url` needs a bearer token. */
export interface AttachmentAdded {
  type: 'attachment.added'
  data: Image & { lead_reference: string }
}

/**
 * The personal data of a lead was erased. This is the last event of the lead: delete your data about the
 * lead.
 */
export interface LeadErased {
  type: 'lead.erased'
  data: { reference: string }
}

/** A new lead may be a duplicate of earlier leads. `suspects` has at most 20 of these leads, newest first. */
export interface LeadDuplicateSuspected {
  type: 'lead.duplicate_suspected'
  data: {
    reference: string
    suspects: { reference: string; reasons: ('email' | 'phone' | 'name_postcode')[] }[]
  }
}

/** A note was added to a lead. `updated_at` is null, because no event reports later changes of the text. */
export interface NoteAdded {
  type: 'note.added'
  data: {
    id: number
    text: string
    /** The user or the token that added the note. */
    author: { type: 'user' | 'token'; id: number; name: string } | null
    created_at: Timestamp
    updated_at: null
    lead_reference: string
  }
}

/** The endpoint that an event is about. This is never the endpoint that receives the event. */
export interface ReportedEndpoint {
  id: number
  host: string
  description: string | null
}

/**
 * Three attempts of one delivery failed, and no attempt to the endpoint has succeeded since the first of
 * these attempts.
 */
export interface EndpointFailing {
  type: 'endpoint.failing'
  data: { endpoint: ReportedEndpoint; since: Timestamp }
}

/** An endpoint was disabled because all its attempts failed. */
export interface EndpointDisabled {
  type: 'endpoint.disabled'
  data: { endpoint: ReportedEndpoint; since: Timestamp; disabled_at: Timestamp }
}

export interface EndpointRecovered {
  type: 'endpoint.recovered'
  data: { endpoint: ReportedEndpoint; since: Timestamp; recovered_at: Timestamp }
}

/** `count` deliveries failed their last retry since the previous event of this type. */
export interface DeliveryExhausted {
  type: 'delivery.exhausted'
  data: { endpoint: ReportedEndpoint; since: Timestamp; count: number; last_delivery_id: number }
}

/** The events that an endpoint can subscribe to. Only Lead Created has no `type`. */
export type WebhookEvent =
  | LeadCreated
  | LeadUpdated
  | AppointmentScheduled
  | CallbackScheduled
  | AttachmentAdded
  | LeadErased
  | EndpointFailing
  | EndpointDisabled
  | EndpointRecovered
  | DeliveryExhausted
  | EntryRescheduled
  | EntryCancelled
  | LeadDuplicateSuspected
  | NoteAdded
  | EntryDue
