internal import CPealHTTP

/// The version of libmicrohttpd.
package var httpLibraryVersion: String { String(cString: MHD_get_version()) }
