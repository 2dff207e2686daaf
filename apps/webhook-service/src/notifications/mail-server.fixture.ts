import type { AddressInfo, Socket } from 'node:net'
import { type ParsedMail, simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface ReceivedMail extends ParsedMail {
  envelope: { from: string; to: string[] }
}

/**
 * Starts a real mail server that keeps accepted messages. `settings` may refuse or delay any step of SMTP.
 * `onContent` returns the error with which the server refuses a message that it has read.
 */
export const startMailServer = async ({
  onContent = () => undefined,
  ...settings
}: SMTPServerOptions & { onContent?: () => Error | undefined } = {}) => {
  const mails: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, { envelope }, done) => {
      simpleParser(stream).then((mail) => {
        const refusal = onContent()
        if (refusal) return done(refusal)
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        mails.push({ ...mail, envelope: { from, to: envelope.rcptTo.map(({ address }) => address) } })
        done()
      }, done)
    },
    ...settings,
  })
  // A client may close the connection at any time.
  server.on('error', () => undefined)
  const sockets = new Set<Socket>()
  server.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    mails,
    /** Closes all connections without a response. */
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    target: { server: { host: '127.0.0.1', port, secure: false, auth: undefined } },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/** Creates the error with which a mail server refuses a step. */
export const reply = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode })
