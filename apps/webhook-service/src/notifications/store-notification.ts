import { NotificationRequested } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'
import { storeForEndpoints } from '../deliveries/store-for-endpoints'

/** Stores a notification that this service itself has created. The mailbox of the account must exist. */
export const storeNotification = async (
  tx: OpenTransaction,
  notification: NotificationRequested,
  dueAt: Date | string,
): Promise<void> => {
  const { accountId, eventId } = notification
  await storeForEndpoints(tx, {
    accountId,
    // The mailbox of an account has the same id as the account.
    endpointIds: [accountId],
    eventId,
    type: 'notification.requested',
    accountKey: '',
    leadReference: null,
    leadVersion: null,
    body: Buffer.from(NotificationRequested.encode(notification).finish()),
    traceparent: null,
    isSample: false,
    dueAt,
  })
}
