import type { EndpointFailure, NotificationRequested } from '@leadwire/contracts'
import { type Content, timeIn } from './message-content'
import { COUNTED_AT_MOST } from './notify-contact'

const waitingOf = (waiting: number): string =>
  waiting > COUNTED_AT_MOST ? `more than ${COUNTED_AT_MOST} deliveries` : `${waiting} deliveries`

/** What the account's contact is told of a webhook endpoint that only fails. */
export const failureContent = (
  { accountName }: NotificationRequested,
  { address, since, error = '', waiting, disabledAt }: EndpointFailure,
  timeZone: string,
): Content => ({
  title: `Webhook endpoint fails: ${address}`,
  greeting: 'Hello,',
  opening: `For 24 hours every attempt to deliver a webhook of ${accountName} to ${address} has failed.`,
  rows: [
    ['Endpoint', address],
    ['Since', timeIn(timeZone, since)],
    ['Error', error],
    ['Waiting', waitingOf(waiting)],
    [
      'Disabled',
      disabledAt === undefined
        ? 'no: attempts go on'
        : `on ${timeIn(timeZone, disabledAt)}, unless an attempt succeeds before`,
    ],
  ],
})
