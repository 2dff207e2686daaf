/**
 * The entity tag of a lead's public JSON (RFC 9110, 8.8.3). It is strong: with each change of what is shown the version
 * moves, and `format` (`leadJsonFormat`) is another one for another release or address of images. So whatever changes what
 * Retrieve shows raises leads.version, of a customer, a quote or an image too.
 */
export const leadEtag = (version: number, format: number): string => `"${version}-${format >>> 0}"`

/** Whether a tag is one of this version, whatever its format. */
export const isOfVersion = (etag: string, version: number): boolean =>
  /^"(\d+)-\d+"$/.exec(etag)?.[1] === String(version)
