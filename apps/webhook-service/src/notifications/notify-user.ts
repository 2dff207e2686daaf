import { NotificationRequested } from '@leadwire/contracts'
import type { NodemailerError } from 'nodemailer'
import { failureClass } from '../attempt/failure-class'
import type { Outcome } from '../attempt/make-attempt'
import type { Webhook } from '../attempt/webhook-headers'
import type { Clock } from '../clock'
import { composeMessage } from './compose-message'
import type { MailTarget, Sender } from './mail-settings'
import { sendMessage } from './send-message'

export interface MailOptions {
  target: MailTarget
  from: Sender
  timeZone: string
  timeoutMs: number
  clock: Clock
}

// What the server says of a message or its addresses. A refusal of our connection or login is no fault of either.
const OF_THE_MESSAGE = new Set(['EENVELOPE', 'EMESSAGE'])

/** Why an attempt failed. Only a refusal of the message for good (5xx) ends a notification. */
const failureOf = (error: NodemailerError): Omit<Outcome, 'startedAt' | 'durationMs'> => {
  const { code = '', originalCode, responseCode = null, response = null } = error
  const about = { status: responseCode, response, cause: error }
  if (code === 'EDNS') return { ...about, error: 'dns' }
  if (code === 'ETLS') return { ...about, error: 'tls' }
  if (responseCode === null) return { ...about, error: failureClass({ code: originalCode ?? code }) }
  const permanent = OF_THE_MESSAGE.has(code) && error.permanent === true
  return { ...about, error: 'smtp_status', permanent }
}

/** Makes one attempt to hand a notification to the mail server. Never rejects. */
export const notifyUser = async ({ body, eventId }: Webhook, options: MailOptions): Promise<Outcome> => {
  const { target, from, timeoutMs, clock } = options
  const startedAt = clock.now()
  const ended = (rest: Omit<Outcome, 'startedAt' | 'durationMs'>): Outcome => ({
    startedAt,
    durationMs: Math.max(0, clock.now().getTime() - startedAt.getTime()),
    ...rest,
  })
  try {
    const event = NotificationRequested.decode(body)
    const content = await composeMessage(event, options)
    const message = { eventId, from: from.address, to: event.userEmail, content }
    const response = await sendMessage(target, message, timeoutMs)
    return ended({ status: Number(response.slice(0, 3)), response, error: null })
  } catch (error) {
    return ended(failureOf(error as NodemailerError))
  }
}
