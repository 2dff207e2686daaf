import { readConfig } from '@leadwire/service-kit'
import { mailSender, mailTarget } from './mail-settings'

const targetOf = (SMTP_URL: string) => readConfig({ SMTP_URL }, { SMTP_URL: mailTarget() }).SMTP_URL
const senderOf = (SMTP_FROM: string) => readConfig({ SMTP_FROM }, { SMTP_FROM: mailSender() }).SMTP_FROM

test.each([
  ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, secure: false, auth: undefined }],
  ['smtp://[::1]:25', { host: '::1', port: 25, secure: false, auth: undefined }],
  [
    'smtps://me%40example.com:p%3Aw@mail.example.com',
    { host: 'mail.example.com', port: 465, secure: true, auth: { user: 'me@example.com', pass: 'p:w' } },
  ],
])('%s is a mail server', (text, server) => {
  expect(targetOf(text)).toEqual({ server })
})

test('a file URL is a folder', () => {
  expect(targetOf('file:///var/mail%20box')).toEqual({ folder: '/var/mail box' })
})

test.each([
  'mail.example.com',
  'http://mail.example.com',
  'smtp://',
  'smtp://a/b',
  'smtp://a?x=1',
  'smtp://%zz@a',
  'smtp://user@a',
])('%s is refused, and not repeated', (text) => {
  expect(() => targetOf(text)).toThrow(/^SMTP_URL: is no smtp:/)
})

test.each([
  ['leads@example.com', { name: '', address: 'leads@example.com' }],
  ['"Bay, Sons" <leads@example.com>', { name: 'Bay, Sons', address: 'leads@example.com' }],
])('%s is a sender', (text, sender) => {
  expect(senderOf(text)).toEqual(sender)
})

test.each(['nobody', 'a@example.com, b@example.com', 'Leadwire <>'])('%s is no sender', (text) => {
  expect(() => senderOf(text)).toThrow(/^SMTP_FROM: .* is no address/)
})
