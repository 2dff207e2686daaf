/** What webhook endpoints can subscribe to, in the order in which it is listed. */
export const EVENT_KINDS = [
  'lead.created',
  'lead.updated',
  'appointment.scheduled',
  'callback.scheduled',
  'attachment.added',
] as const

export type EventKind = (typeof EVENT_KINDS)[number]

/** All but the one whose body is the interface's own. */
export type ChangeKind = Exclude<EventKind, 'lead.created'>

/** Of which leads an endpoint can be told. */
export const LEADS_TOLD = ['all', 'live', 'test'] as const

/** The body of a webhook of any kind but lead.created. `data` is JSON text. */
export const changeBody = (kind: ChangeKind, data: string): Buffer =>
  Buffer.from(`{"type":"${kind}","data":${data}}`)
