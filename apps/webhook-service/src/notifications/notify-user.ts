import { NotificationRequested } from '@leadwire/contracts'
import type { NodemailerError } from 'nodemailer'
import { failureClass } from '../attempt/failure-class'
import type { Outcome } from '../attempt/make-attempt'
import { keptText } from '../attempt/post'
import { traceAttempt } from '../attempt/trace-attempt'
import type { Webhook } from '../attempt/webhook-headers'
import type { Clock } from '../clock'
import { composeMessage, type Message } from './compose-message'
import type { MailTarget, Sender } from './mail-settings'
import { type SendOptions, sendMessage, Unconfirmed } from './send-message'

export interface MailOptions extends SendOptions {
  target: MailTarget
  from: Sender
  timeZone: string
  clock: Clock
}

type Result = Omit<Outcome, 'startedAt' | 'durationMs'>

const NO_ANSWER = { status: null, response: null }

/** Whether the server refused the message or its recipient. A refusal of our connection, login or sender is no fault of theirs. */
const isOfTheMessage = ({ code, command }: NodemailerError) =>
  code === 'EMESSAGE' || (code === 'EENVELOPE' && command !== 'MAIL FROM')

/** Why a message was not sent. It ends at once when the server refused it for good (5xx), or may have taken it. */
const failureOf = (error: NodemailerError | Unconfirmed): Result => {
  if (error instanceof Unconfirmed)
    return { ...NO_ANSWER, error: 'unconfirmed', permanent: true, cause: error.cause }
  const { code = '', originalCode, responseCode, response = '', permanent = false } = error
  // Whatever begins with digits is a code to nodemailer.
  const status = responseCode !== undefined && responseCode < 1000 ? responseCode : null
  // The cause is for the log, and what a server says of a message may name who it is for: that is kept as the response.
  const said = { status, response: keptText(response) }
  if (code === 'EDNS') return { ...said, error: 'dns', cause: error }
  if (code === 'ETLS') return { ...said, error: 'tls', cause: error }
  if (responseCode !== undefined)
    return { ...said, error: 'smtp_status', permanent: permanent && isOfTheMessage(error) }
  // nodemailer itself sends nothing to such an address.
  if (code === 'EENVELOPE') return { ...said, error: 'unsendable', permanent: true }
  return { ...said, error: failureClass({ code: originalCode ?? code }) }
}

const send = async (event: NotificationRequested, options: MailOptions): Promise<Result> => {
  let message: Message
  try {
    message = await composeMessage(event, options)
  } catch (cause) {
    return { ...NO_ANSWER, error: 'unsendable', permanent: true, cause }
  }
  try {
    const response = await sendMessage(options.target, message, options)
    // It is some 2xx: nodemailer says so of nothing else.
    return { status: 250, response: keptText(response), error: null }
  } catch (error) {
    // The folder is ours.
    if ('folder' in options.target) return { ...NO_ANSWER, error: 'ours', cause: error }
    return failureOf(error as NodemailerError | Unconfirmed)
  }
}

const SPAN = { name: 'send e-mail', status: 'leadwire.smtp.status_code' }

/** Makes one attempt to hand a notification to the mail server. Never rejects. It is a span of the event's trace. */
export const notifyUser = (webhook: Webhook, options: MailOptions): Promise<Outcome> =>
  traceAttempt(webhook.traceparent, SPAN, () => attempt(webhook, options))

const attempt = async ({ body }: Webhook, options: MailOptions): Promise<Outcome> => {
  const { clock } = options
  const startedAt = clock.now()
  const result = await send(NotificationRequested.decode(body), options)
  return {
    startedAt,
    durationMs: Math.max(0, clock.now().getTime() - startedAt.getTime()),
    ...result,
  }
}
