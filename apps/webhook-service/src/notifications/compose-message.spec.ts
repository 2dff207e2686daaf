import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import ICAL from 'ical.js'
import { simpleParser } from 'mailparser'
import { composeMessage } from './compose-message'
import { notification, startMailing } from './notifications.fixture'

const { running, boot, start, publish, ended, retrieve } = startMailing()

test('an appointment is sent in text and HTML, in the local time, with an invitation', async () => {
  const { mails } = await start()
  const event = notification()
  await publish(event)
  const [mail] = await eventually(() => {
    expect(mails).toHaveLength(1)
    return mails
  })
  expect(mail!.envelope).toEqual({ from: 'leads@example.com', to: ['sam@example.com'] })
  expect(mail!.subject).toBe('Appointment: Fenster <b>groß</b> & klein')
  expect(mail!.messageId).toBe(`<${event.eventId}@example.com>`)
  expect(mail!.date).toEqual(new Date('2026-06-01T08:00:00.000Z'))
  expect(mail!.headers.get('auto-submitted')).toBe('auto-generated')
  expect(mail!.text).toContain('Hello Zoë "Z" Ångström,')
  expect(mail!.text).toMatch(/When: +Wednesday.* 24 June 2026.* 14:30 \(Europe\/London\)/)
  expect(mail!.html).toContain('Fenster &#60;b&#62;groß&#60;/b&#62; &#38; klein')
  expect(mail!.html).not.toContain('<b>')

  const invitation = mail!.attachments.find(({ contentType }) => contentType.startsWith('text/calendar'))
  const calendar = new ICAL.Component(ICAL.parse(invitation!.content.toString()))
  expect(calendar.getFirstPropertyValue('method')).toBe('REQUEST')
  const entry = new ICAL.Event(calendar.getFirstSubcomponent('vevent')!)
  expect(entry.startDate.toJSDate()).toEqual(new Date('2026-06-24T13:30:00Z'))
  expect(entry.endDate.toJSDate()).toEqual(new Date('2026-06-24T14:30:00Z'))
  expect(entry.summary).toBe('Appointment: Fenster <b>groß</b> & klein')
  expect(entry.uid).toBe(`${event.eventId}@leadwire`)
  expect(entry.organizer).toBe('mailto:leads@example.com')
  expect(entry.attendees.map((attendee) => attendee.getFirstValue())).toEqual(['MAILTO:sam@example.com'])
  expect(entry.attendees[0]!.getParameter('cn')).toBe("Zoë 'Z' Ångström")

  const { notification: sent, attempts } = await retrieve()
  expect(sent).toMatchObject({
    subject: 'appointment',
    userId: 5,
    userEmail: 'sam@example.com',
    date: event.date,
    delivery: { status: 'delivered', attemptCount: 1, leadReference: event.leadReference },
  })
  expect(attempts).toMatchObject([{ number: 1, status: 250, response: expect.stringMatching(/^250 /) }])
  expect(attempts[0]!.error).toBeUndefined()
})

test('a cancellation by an erasure does not name the lead', async () => {
  const { mails } = await start()
  const nameless = {
    leadName: '',
    customerName: '',
    customerPhone: '',
    customerEmail: '',
    customerPostcode: '',
  }
  await publish(notification({ ...nameless, subject: 'appointment.cancelled', sequence: 1 }))
  const [mail] = await eventually(() => {
    expect(mails).toHaveLength(1)
    return mails
  })
  expect(mail!.subject).toBe('Appointment cancelled')
  expect(mail!.text).not.toMatch(/^(Lead|Customer|Phone|E-mail|Postcode):/m)
  const invitation = mail!.attachments.find(({ contentType }) => contentType.startsWith('text/calendar'))
  const calendar = new ICAL.Component(ICAL.parse(invitation!.content.toString()))
  expect(calendar.getFirstPropertyValue('method')).toBe('CANCEL')
  expect(new ICAL.Event(calendar.getFirstSubcomponent('vevent')!).summary).toBe('Appointment')
})

test('no text of an event can add a row to the message or its invitation', async () => {
  const { mails } = await start()
  const forged = 'By\r\nron\u2028Phone: 0900\u202e\x1b'
  await publish(
    notification({
      leadName: forged,
      customerName: forged,
      customerPhone: forged,
      customerPostcode: forged,
      userName: forged,
      accountName: forged,
    }),
  )
  const [mail] = await eventually(() => {
    expect(mails).toHaveLength(1)
    return mails
  })
  const line = 'By ron Phone: 0900'
  expect(mail!.subject).toBe(`Appointment: ${line}`)
  const text = mail!.text!.split('\n')
  for (const row of [`Hello ${line},`, `Customer:  ${line}`, `Phone:     ${line}`])
    expect(text).toContain(row)
  expect(text.filter((row) => row.startsWith('Phone'))).toHaveLength(1)
  expect(mail!.html).toContain(`<td>${line}</td>`)
  const invitation = mail!.attachments.find(({ contentType }) => contentType.startsWith('text/calendar'))
  const calendar = new ICAL.Component(ICAL.parse(invitation!.content.toString()))
  const entry = new ICAL.Event(calendar.getFirstSubcomponent('vevent')!)
  expect(entry.summary).toBe(`Appointment: ${line}`)
  expect(entry.attendees[0]!.getParameter('cn')).toBe(line)
  expect(entry.description.split('\n').filter((row) => row.startsWith('Phone'))).toHaveLength(1)
})

test('an assignment is sent without an invitation, and a callback with a short one', async () => {
  const { mails } = await start()
  await publish(notification({ subject: 'assigned', date: undefined }), notification({ subject: 'callback' }))
  await eventually(() => expect(mails).toHaveLength(2))
  const [assigned, callback] = mails.toSorted((one, other) => (one.subject! < other.subject! ? 1 : -1))
  expect(assigned!.subject).toMatch(/^Lead: /)
  expect(assigned!.attachments).toEqual([])
  expect(callback!.subject).toMatch(/^Callback: /)
  expect(callback!.attachments[0]!.content.toString()).toContain('DTEND:20260624T134500Z')
})

test('a reminder has the date, and no invitation', async () => {
  const { mails } = await start()
  await publish(notification({ subject: 'appointment.due' }), notification({ subject: 'callback.due' }))
  await eventually(() => expect(mails).toHaveLength(2))
  expect(mails.map(({ subject }) => subject).toSorted()).toEqual([
    'Reminder of a callback: Fenster <b>groß</b> & klein',
    'Reminder of an appointment: Fenster <b>groß</b> & klein',
  ])
  for (const mail of mails) {
    expect(mail.text).toMatch(/When: +Wednesday.* 24 June 2026.* 14:30 \(Europe\/London\)/)
    expect(mail.attachments).toEqual([])
  }
})

test('a domain with non-ASCII letters is sent in ASCII, and an invalid address fails at once', async () => {
  const from = { name: '', address: 'leads@example.com' }
  const message = await composeMessage(notification({ userEmail: 'sam@bücher.example' }), {
    from,
    timeZone: 'Europe/London',
  })
  expect(message.to).toBe('sam@xn--bcher-kva.example')
  const { mails } = await start()
  await publish(
    notification({ userEmail: 'sam@bücher.example' }),
    notification({ userEmail: '"a<b"@example.com' }),
  )
  const found = await ended(2)
  expect(found.map(({ delivery }) => delivery!.status).toSorted()).toEqual(['delivered', 'exhausted'])
  expect(mails).toHaveLength(1)
  const { id } = found.find(({ delivery }) => delivery!.status === 'exhausted')!.delivery!
  const { attempts } = await running.service.client.retrieveNotification({ accountId: 1, notificationId: id })
  expect(attempts).toHaveLength(1)
})

test.each([
  ['sam@bücher.example', 'sam@xn--bcher-kva.example'],
  ['sam@xn--bcher-kva.example', 'sam@xn--bcher-kva.example'],
  ['zoë@xn--bcher-kva.example', 'zoë@bücher.example'],
])('the envelope, the message and the invitation have the same address for %s', async (userEmail, address) => {
  const { to, from, content } = await composeMessage(notification({ userEmail }), {
    from: { name: '', address: 'leads@bücher.example' },
    timeZone: 'Europe/London',
  })
  const mail = await simpleParser(content)
  const invitation = mail.attachments.find(({ contentType }) => contentType.startsWith('text/calendar'))
  const calendar = new ICAL.Component(ICAL.parse(invitation!.content.toString()))
  const entry = new ICAL.Event(calendar.getFirstSubcomponent('vevent')!)
  const unfolded = content.toString().replace(/\r\n[ \t]+/g, ' ')
  const header = (name: string) => new RegExp(`^${name}: .*?([^ <]+@[^ >]+)>?\\r$`, 'm').exec(unfolded)![1]
  expect([to, header('To'), String(entry.attendees[0]!.getFirstValue())]).toEqual([
    address,
    address,
    `MAILTO:${address}`,
  ])
  const sender = 'leads@xn--bcher-kva.example'
  expect([from, header('From'), entry.organizer]).toEqual([sender, sender, `mailto:${sender}`])
})

test('without a mail server a message is a file, which erasure, pruning and account deletion delete', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-mail-'))
  const settings = { SMTP_URL: { folder: join(folder, 'mail') } }
  await start({}, settings)
  const event = notification()
  await publish(event)
  await ended()
  expect(await readdir(join(folder, 'mail'))).toEqual([`${event.eventId}.eml`])
  const text = await readFile(join(folder, 'mail', `${event.eventId}.eml`), 'utf8')
  expect(text).toContain('To: ')
  await writeFile(join(folder, 'mail', `.${event.eventId}.eml`), 'To: half a message')
  const { leadReference } = event
  const erased = { accountId: 1, leadReference, eventIds: [event.eventId], tombstone: false }
  await running.service.client.eraseLeadEvents(erased)
  expect(await readdir(join(folder, 'mail'))).toEqual([])

  await publish(notification())
  await ended(2)
  await running.doors.rows('UPDATE notifications.events SET created_at = created_at - interval $$31 days$$')
  await running.doors.rows(
    'UPDATE notifications.deliveries SET updated_at = updated_at - interval $$31 days$$',
  )
  expect(await readdir(join(folder, 'mail'))).toHaveLength(1)
  // The service prunes when it starts.
  await running.service.stop()
  await boot(settings)
  await eventually(async () => expect(await readdir(join(folder, 'mail'))).toEqual([]))

  await publish(notification())
  await eventually(async () => expect(await readdir(join(folder, 'mail'))).toHaveLength(1))
  while (!(await running.service.client.removeAccount({ accountId: 1 })).done);
  expect(await readdir(join(folder, 'mail'))).toEqual([])
  await rm(folder, { recursive: true })
})
