import { root } from '../api'

/** A field that visitors do not see. A form in which a program fills it in becomes a spam lead. */
export const HONEYPOT = 'fax'

/** The attribute with the name of the form, by which the leads of a form are found. */
export const FORM_ATTRIBUTE = 'form'

const INPUTS: [label: string, attributes: string][] = [
  ['First name', 'name="first_name" autocomplete="given-name" required'],
  ['Last name', 'name="last_name" autocomplete="family-name" required'],
  ['E-mail', 'name="email" type="email" autocomplete="email" required'],
  ['Telephone', 'name="phone" type="tel" autocomplete="tel" required'],
  ['Postcode', 'name="postcode" autocomplete="postal-code" required'],
]

const escapeAttribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

/** Renders the HTML of a form that creates leads with a publishable token. */
export const renderForm = ({ name, token }: { name: string; token: string }): string => {
  const action = new URL(`capture/${token}`, root).href
  return [
    `<form method="post" action="${action}" enctype="multipart/form-data">`,
    `  <input type="hidden" name="${FORM_ATTRIBUTE}" value="${escapeAttribute(name)}">`,
    ...INPUTS.map(([label, attributes]) => `  <p><label>${label} <input ${attributes}></label></p>`),
    '  <p><label>Your wishes <textarea name="description"></textarea></label></p>',
    `  <div hidden><label>Leave this empty <input name="${HONEYPOT}" tabindex="-1" autocomplete="off"></label></div>`,
    '  <button>Send</button>',
    '</form>',
    '',
  ].join('\n')
}

const isWebsite = ({ hostname }: URL): boolean => hostname.includes('.') || hostname === 'localhost'

/**
 * Returns the origins of the websites in a text, separated by spaces. Accepts the address of any page, also
 * without https://. Keeps a text that is not an address, so that the API returns the error.
 */
export const readOrigins = (text: string): string[] => {
  const addresses = text.split(/\s+/).filter(Boolean)
  return addresses.map((address) => {
    const url = /^https?:\/\//i.test(address) ? address : `https://${address}`
    return URL.canParse(url) && isWebsite(new URL(url)) ? new URL(url).origin : address
  })
}
