import { api, readData, type Schemas } from './api'

export type Notification = Schemas['Notification']
export type ShownNotification = Schemas['NotificationWithAttempts']

export const SUBJECT_LABELS: Record<Notification['subject'] | 'sign_in' | 'invitation', string> = {
  assigned: 'Lead assigned',
  appointment: 'Appointment',
  'appointment.rescheduled': 'Appointment moved',
  'appointment.cancelled': 'Appointment cancelled',
  'appointment.due': 'Appointment reminder',
  callback: 'Callback',
  'callback.rescheduled': 'Callback moved',
  'callback.cancelled': 'Callback cancelled',
  'callback.due': 'Callback reminder',
  digest: 'Digest',
  sign_in: 'Sign-in link',
  invitation: 'Invitation',
  'webhook_endpoint.failing': 'Endpoint is failing',
}

/** Lists the notifications that match the filters, newest first, from the cursor on. */
export const listNotifications = async (
  filters: Record<string, string>,
  signal?: AbortSignal,
): Promise<Schemas['NotificationPage']> => {
  // The type is `object`, because the filters come from the page's URL. The API rejects unknown filters and
  // values.
  const query: object = { cursor: '', ...filters }
  return readData(api().GET('/manage/notifications', { params: { query }, signal }))
}

export const retrieveNotification = async (id: number, signal?: AbortSignal): Promise<ShownNotification> =>
  (await readData(api().GET('/manage/notifications/{id}', { params: { path: { id } }, signal }))).data
