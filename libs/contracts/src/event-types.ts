/**
 * The types of events about leads. Only these events are in an account's event log. Responses list types in
 * this order.
 */
export const LEAD_EVENT_TYPES = [
  'lead.created',
  'lead.updated',
  'appointment.scheduled',
  'callback.scheduled',
  'attachment.added',
  'lead.erased',
  'appointment.rescheduled',
  'appointment.cancelled',
  'callback.rescheduled',
  'callback.cancelled',
  'lead.duplicate_suspected',
  'note.added',
  'appointment.due',
  'callback.due',
] as const

/**
 * The types of events about webhook endpoints. These events are in no event log, and are never sent to the
 * endpoint that they are about.
 */
export const ENDPOINT_EVENT_TYPES = [
  'endpoint.failing',
  'endpoint.disabled',
  'endpoint.recovered',
  'delivery.exhausted',
] as const

export const EVENT_TYPES = [...LEAD_EVENT_TYPES, ...ENDPOINT_EVENT_TYPES] as const

export type LeadEventType = (typeof LEAD_EVENT_TYPES)[number]

export type EndpointEventType = (typeof ENDPOINT_EVENT_TYPES)[number]

export type EventType = (typeof EVENT_TYPES)[number]

/** The leads whose events an endpoint can subscribe to. */
export const ENDPOINT_LEADS = ['all', 'live', 'test'] as const

/** Optional parts of webhook bodies, which an endpoint can request. */
export const ENDPOINT_INCLUDES = ['attributes'] as const

export const ATTEMPT_ERRORS = [
  'timeout',
  'refused',
  'unreachable',
  'reset',
  'dns',
  'tls',
  'blocked',
  'protocol',
  'network',
  'proxy',
  'http_status',
  'smtp_status',
  'unsendable',
  'unconfirmed',
] as const

export type AttemptError = (typeof ATTEMPT_ERRORS)[number]
