import { api, dataOf, type Schemas } from './api'

export type Notification = Schemas['Notification']
export type ShownNotification = Schemas['NotificationWithAttempts']

export const SUBJECT_WORDS: Record<Notification['subject'], string> = {
  assigned: 'Lead assigned',
  appointment: 'Appointment',
  'appointment.rescheduled': 'Appointment moved',
  'appointment.cancelled': 'Appointment cancelled',
  callback: 'Callback',
  'callback.rescheduled': 'Callback moved',
  'callback.cancelled': 'Callback cancelled',
  'webhook_endpoint.failing': 'Endpoint is failing',
}

/** The newest that the filters match, or those that follow the cursor; no count, which would be slow. */
export const listNotifications = async (
  filters: Record<string, string>,
  signal?: AbortSignal,
): Promise<Schemas['NotificationPage']> => {
  // The API refuses unknown filters and values.
  const query: object = { cursor: '', ...filters }
  return dataOf(api().GET('/manage/notifications', { params: { query }, signal }))
}

export const retrieveNotification = async (id: number, signal?: AbortSignal): Promise<ShownNotification> =>
  (await dataOf(api().GET('/manage/notifications/{id}', { params: { path: { id } }, signal }))).data
