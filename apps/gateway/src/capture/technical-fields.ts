import type { Body } from '@leadwire/requests'

/** Matches the names of fields that captchas and frameworks add to a form. */
const TECHNICAL =
  /^_|captcha|turnstile|geetest|csrf|xsrf|^(altcha|authenticity_token|(cap|fc|smart|tc-verification)-token)$/i

/** Returns whether a field contains nothing about the lead, such as the response of a captcha. */
export const isTechnicalField = (name: string): boolean => TECHNICAL.test(name)

/** Returns a form without its technical fields. Keeps the honeypot, which may have any name. */
export const withoutTechnicalFields = <Form extends Body>(form: Form, honeypot: string | undefined): Form => {
  const kept = Object.entries(form.fields).filter(([name]) => name === honeypot || !isTechnicalField(name))
  return { ...form, fields: Object.fromEntries(kept) }
}
