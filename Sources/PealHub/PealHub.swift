/// The version of Peal; `peal --version`, `GET /config`.
public let pealVersion = "0.1.0"
