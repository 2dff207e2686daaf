/** What webhook endpoints can subscribe to, in the order in which it is listed. */
export const EVENT_TYPES = [
  'lead.created',
  'lead.updated',
  'appointment.scheduled',
  'callback.scheduled',
  'attachment.added',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** Of which leads an endpoint can receive events. */
export const ENDPOINT_LEADS = ['all', 'live', 'test'] as const

/** The body of a webhook. `data` is JSON text. The interface's own event, Lead Created, does not name its type. */
export const eventBody = (type: EventType, data: string): Buffer =>
  Buffer.from(type === 'lead.created' ? `{"data":${data}}` : `{"type":"${type}","data":${data}}`)
